"""What keeps people from reading a page, by axe-core in the browser: `make status-audit`.

Without the target, nothing is audited: axe-core comes from npm, which the suite does without.

https://github.com/dequelabs/axe-core
"""

from __future__ import annotations

import json
import os
import re
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from tests.stream.status.browser import SCREENS, Screen, browse

# The path of axe.min.js.
AXE = os.environ.get("AXE")
# Pictures of running pipelines, to be looked at.
FOLDER = Path(__file__).parents[3] / "build" / "status-page" / "running"
_REPORT = """<script src="{axe}"></script><script>
axe.run(document, {{resultTypes: ["violations"]}}).then(found => {{
  document.documentElement.dataset.violations = JSON.stringify(found.violations.map(
    each => [each.impact, each.id, each.nodes.map(node => node.html).slice(0, 3)]));
}});
</script>"""
_FOUND = re.compile(r'data-violations="(.*?)"', re.DOTALL)
# axe-core takes some seconds of the page's time.
_BUDGET = "--virtual-time-budget=8000"


def violations(page: str, folder: Path, screen: Screen) -> list[tuple[str, str, list[str]]]:
    """Return impact, rule and elements of what is wrong; the browser keeps files in `folder`."""
    assert AXE is not None
    source = folder / "audited.html"
    source.write_text(page + _REPORT.format(axe=Path(AXE).absolute().as_uri()), "utf-8")
    shown = browse(source.as_uri(), folder, "--dump-dom", _BUDGET, *screen.options()).stdout
    found = _FOUND.search(shown)
    assert found is not None, shown
    return [tuple(each) for each in json.loads(unescape(found[1]))]


def audit(port: int, name: str) -> None:
    """Take pictures of the page at a port, called `name`, and let axe-core look at it."""
    if AXE is None:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    address = f"http://127.0.0.1:{port}/"
    with urlopen(address) as answer:
        page = answer.read().decode()
    for of_screen, screen in SCREENS.items():
        with TemporaryDirectory(prefix="audit-") as folder:
            file = FOLDER / f"{name}-{of_screen}.png"
            file.unlink(missing_ok=True)
            browse(address, Path(folder), f"--screenshot={file}", *screen.options())
            assert file.exists()
            assert violations(page, Path(folder), screen) == [], (name, of_screen)
