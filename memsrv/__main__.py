"""`python -m memsrv` is the command `memsrv`."""

from memsrv.cli import main

main()
