"""The formula of a claim as MathML, which browsers render without a script, picture or font."""

import re
from xml.etree import ElementTree

from sketchbench.report.claim.formula import lines
from sketchbench.report.site.verdicts import escape

TEX = "application/x-tex"
PARTS = {"mfrac": 2, "msub": 2, "msup": 2, "mover": 2, "munder": 2, "msubsup": 3, "munderover": 3}


def mathml(formula: str) -> str:
    """The formula as MathML, in a box that scrolls if it is too wide.

    Each line is a separate formula, with its LaTeX for readers who copy it. Without the extra `site`, as in most tests,
    the LaTeX replaces the MathML; `build` refuses to build a site then.

    Raises ValueError, in one line, for LaTeX that the converter does not know.
    """
    # the keyboard scrolls what it can reach; the search has the claim's statement and words
    opened = '<div class="formula box" tabindex="0" role="group" aria-label="In symbols" data-search-exclude="">'
    return f"{opened}{''.join(map(_line, lines(formula)))}</div>"


def _line(latex: str) -> str:
    try:
        from latex2mathml.converter import convert
    except ImportError:
        return f"<p><code>{escape(latex)}</code></p>"
    try:
        made = convert(latex, display="block")
        _check(made)
    except Exception as error:  # the library has exceptions of its own, and some of Python's
        raise ValueError(f"formula {latex!r} can't be set: {error or type(error).__name__}") from None
    inner = re.sub(r"^<math[^>]*>|</math>$", "", made)
    return (
        f'<math display="block" alttext="{escape(latex)}"><semantics>{inner}'
        f'<annotation encoding="{TEX}">{escape(latex)}</annotation></semantics></math>'
    )


def _check(made: str) -> None:
    """Raise ValueError for a command that was left as text, or that lacks a part."""
    for node in ElementTree.fromstring(made).iter():
        tag = node.tag.rpartition("}")[2]
        if "\\" in (node.text or ""):
            raise ValueError(f"{node.text} is unknown")
        if len(node) != PARTS.get(tag, len(node)):
            raise ValueError(f"a part of a {tag} is missing")
