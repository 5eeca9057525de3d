"""The page's modules checked by TypeScript: the types in their comments, and every message against the classes of the wire.

The types of messages and of HTTP documents, `carpet-wire` in the modules, come from the AsyncAPI and OpenAPI documents; they are neither
served nor stored.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from protocol.schemas import make_document
from tests.conftest import NO_TYPESCRIPT

pytestmark = pytest.mark.slow

WEB = Path(__file__).parents[3] / "server" / "pages" / "web"
PACKAGES = ("typescript@7.0.2", "json-schema-to-typescript@16.0.0")

TYPES = """
import { writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
let text = "";
for await (const chunk of process.stdin) text += chunk;
const api = JSON.parse(text);
const payload = ({ $ref }) => api.components.messages[$ref.split("/").at(-1)].payload;
const all = (action, title) => ({ title, anyOf: api.operations[action].messages.map(payload) });
const properties = { client: all("receive", "ClientMessage"), server: all("send", "ServerMessage") };
properties.documents = { title: "Documents", anyOf: api.documents };
const schema = { title: "Wire", type: "object", properties, components: api.components };
writeFileSync("wire.d.ts", await compile(schema, "Wire", { additionalProperties: false, bannerComment: "", format: false }));
"""

PROBE = f"""
import {{ Connection }} from "{WEB.as_posix()}/connection.js";
/** @param {{Connection}} connection @param {{import("carpet-wire").ServerMessage}} message */
export function probe(connection, message) {{
  connection.send({{ type: "join-race", code: "ABCDEF" }});
  // @ts-expect-error There is no message of that type.
  connection.send({{ type: "join-rase", code: "ABCDEF" }});
  // @ts-expect-error A field is missing.
  connection.send({{ type: "join-race" }});
  // @ts-expect-error And here is one too many.
  connection.send({{ type: "join-race", code: "ABCDEF", seat: 1 }});
  if (message.type === "room") return message.phase;
  // @ts-expect-error Not every message has it.
  return message.phase;
}}
"""

CONFIGURATION = {
    "compilerOptions": {
        **dict.fromkeys(("checkJs", "allowJs", "noEmit", "skipLibCheck"), True),
        "target": "ES2023",
        "module": "ES2022",
        "moduleResolution": "bundler",
        "lib": ["ES2023", "DOM", "DOM.Iterable"],
        # Nothing is asked of a parameter of which nothing is said.
        "strict": False,
        "types": [],
        "paths": {"carpet-wire": ["./wire.d.ts"]},
    },
    "include": ["probe.js", f"{WEB.as_posix()}/*.js"],
}


@pytest.fixture(scope="module")
def typescript(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages: that of the last run, or a new one."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"{NO_TYPESCRIPT}: install npm")
    cache: pytest.Cache | None = getattr(pytestconfig, "cache", None)
    folder = cache.mkdir("typescript") if cache is not None else tmp_path_factory.mktemp("typescript")
    kept = folder / "packages.json"
    if not kept.exists() or json.loads(kept.read_text()) != list(PACKAGES):
        command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if ran.returncode != 0:
            pytest.skip(f"{NO_TYPESCRIPT}: npm could not install it: {ran.stderr[-300:]}")
        kept.write_text(json.dumps(PACKAGES))
    return folder


def test_every_module_holds_to_its_types_and_to_those_of_the_wire(typescript: Path) -> None:
    (typescript / "types.mjs").write_text(TYPES)
    (typescript / "probe.js").write_text(PROBE)
    (typescript / "tsconfig.json").write_text(json.dumps(CONFIGURATION))
    asyncapi, openapi = make_document("asyncapi"), make_document("openapi")
    asyncapi["components"]["schemas"] |= openapi["components"]["schemas"]
    answers = (page["get"]["responses"]["200"]["content"].get("application/json", {}) for page in openapi["paths"].values())
    asyncapi["documents"] = [answer["schema"] for answer in answers if "$ref" in answer.get("schema", {})]
    subprocess.run(["node", "types.mjs"], cwd=typescript, input=json.dumps(asyncapi), text=True, check=True, timeout=120)
    compiler = typescript / "node_modules" / ".bin" / "tsc"
    checked = subprocess.run([compiler, "--pretty", "false"], cwd=typescript, capture_output=True, text=True, timeout=300, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")
