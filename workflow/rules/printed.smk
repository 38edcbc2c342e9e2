# What the papers print beside what was measured: from the tables that are there; cells of other studies are open.
rule printed:
    input:
        tables=expand(f"{TABLE}.csv", study=PRINTED),
        printed=PRINTED_FILES,
        verdicts=rules.claims.output.csv,
    output:
        csv=report(
            f"{REPORTS}/printed.csv",
            category="Printed",
            caption="../captions/printed.rst",
        ),
        sealed=touch(f"{SEALED}/printed"),
    log:
        f"{LOGS}/printed.log",
    group:
        lambda wildcards: grouped(cluster.LAST)
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 800 * attempt,
        runtime=lambda wildcards, attempt: 3 * attempt,
    params:
        scale=config["scale"],
        older=",".join(PRINTED_OLDER),
        code=CODES["printed"],
    message:
        "printed against measured"
    shell:
        "python -m sketchbench step printed {input.tables:q} --printed conf/printed --verdicts {input.verdicts:q}"
        " --scale {params.scale} --older={params.older:q}"
        " --csv {output.csv:q} --code {params.code} 2> {log:q}"
