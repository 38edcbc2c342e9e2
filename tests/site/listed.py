"""What stands in a list of the site."""

import base64
import gzip
import json
import re
from typing import Any


def data(text: str) -> dict[str, Any]:
    """The columns of the only list in a text, and its number of rows."""
    (content,) = re.findall(r'<script type="application/gzip">(.*?)</script>', text)
    return json.loads(gzip.decompress(base64.b64decode(content)))  # type: ignore[no-any-return]
