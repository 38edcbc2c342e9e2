# The last of all: whether the verdicts are the published ones, those of git's HEAD, and those that files of a user's
# folder expect. One that differs, or a broken contract, fails the run, after all is written, and fails it again until
# it is none; at the smoke scale, where trials are few, and with differences=list they are listed only.
import atexit

from sketchbench.plan.expected import read_expected
from sketchbench.report import committed

# Snakemake's own last line comes after those of `onsuccess` and `onerror`.
if workflow.is_main_process:
    atexit.register(repeat_last_line, Path(LOGS) / "check.log")


rule check:
    input:
        verdicts=local(rules.claims.output.csv),
        others=[
            local(rules.claims.output),
            local(rules.printed.output) if PRINTED else [],
            local(rules.frontier.output) if FRONTIER else [],
            local(rules.first.output) if PLAN.first else [],
            local(
                expand(
                    [f"{TABLE}.csv", f"{SEALED}/tables/{{study}}"],
                    study=PLAN.runs,
                )
            ),
            local(
                PLAN.all_receipts
            ),  # by name, so that one that is gone is made again
            local(
                expand(
                    [f"{FIGURE}.svg", f"{FIGURE}.png", f"{SEALED}/figures/{{figure}}"],
                    figure=FIGURES,
                )
            ),
        ],
    output:
        local(touch(f"{RESULTS}/checked")),
    log:
        local(f"{LOGS}/check.log"),
    retries: 0
    localrule: True
    conda:
        "../../environment.yml"
    threads: 1
    params:
        only=(
            "--list"
            if config["scale"] == "smoke" or config["differences"] == "list"
            else ""
        ),
        uses=manifests(REPORTS),
        folder=FOLDER if config["folder"] else "",
        expected=(
            read_expected(Path(config["folder"]).expanduser())
            if config["folder"]
            else []
        ),
        published=committed.digest(Path(REPORTS)),  # so that verdicts are checked again where others are published
    message:
        "verdicts against the published ones"
    shell:
        "python -m sketchbench check {input.verdicts:q} {params.folder} {params.only} > {log:q} 2>&1; cat {log:q}"
