r"""The formula of a claim: LaTeX, whose lines are separated by `\\`. The site sets it as MathML (`site.formula`)."""

import re

# LaTeX that the site's converter leaves as text: environments, columns, and dollars around the formula.
UNSUPPORTED = re.compile(r"\\(?:begin|end)\b|(?<!\\)[&$]")
BRACES = re.compile(r"(?<!\\)[{}]")


def lines(formula: str) -> list[str]:
    r"""The lines of a formula, each LaTeX by itself.

    >>> lines(r"a = b \\ c \le d")
    ['a = b', 'c \\le d']
    """
    return [line.strip() for line in formula.split(r"\\")]


def check_formula(formula: str) -> None:
    """Raise ValueError, in one line, if a line is empty, if braces or \\left and \\right are unpaired, or if the site
    can't set the LaTeX. The build of the site checks commands, because only the build has a converter."""
    for line in lines(formula):
        if not line:
            raise ValueError("formula: a line is empty; lines are separated by \\\\")
        if unfit := UNSUPPORTED.search(line):
            raise ValueError(f"formula: {unfit[0]} in {line!r} can't be set; write lines, separated by \\\\")
        depth = 0
        for brace in BRACES.findall(line):
            depth += 1 if brace == "{" else -1
            if depth < 0:
                break
        if depth:
            raise ValueError(f"formula: braces in {line!r} don't pair")
        if len(re.findall(r"\\left\b", line)) != len(re.findall(r"\\right\b", line)):
            raise ValueError(f"formula: \\left and \\right in {line!r} don't pair")
