"""Shell completion scripts: the first word completes to verbs, later words to files."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from lensbench.__main__ import VERBS
from lensbench.core.system.program import run_program

SHELLS = {
    "bash": """\
_lensbench() {
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "VERBS" -- "${COMP_WORDS[1]}"))
  else compopt -o default; COMPREPLY=(); fi
}
complete -F _lensbench lensbench
""",
    "zsh": """\
#compdef lensbench
_lensbench() { if (( CURRENT == 2 )); then compadd -- VERBS; else _files; fi }
compdef _lensbench lensbench
""",
    "fish": """\
complete -c lensbench -n __fish_use_subcommand -f -a "VERBS"
""",
}


def script(shell: str, verbs: Iterable[str]) -> str:
    """The completion script for a shell."""
    return SHELLS[shell].replace("VERBS", " ".join(verbs))


def main() -> None:
    """Print a completion script."""
    parser = argparse.ArgumentParser(
        prog="lensbench completion", description=main.__doc__,
        epilog='bash and zsh: eval "$(lensbench completion bash)"; fish: lensbench completion fish | source',
    )  # fmt: skip
    parser.add_argument("shell", choices=SHELLS)
    print(script(parser.parse_args().shell, VERBS), end="")


if __name__ == "__main__":
    run_program(main)
