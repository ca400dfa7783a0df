"""A project for generated tasks: twelve modules with callers, messages, values, and a history."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PARTS = (
    "amber",
    "birch",
    "cedar",
    "dune",
    "ember",
    "fjord",
    "grove",
    "heath",
    "islet",
    "juniper",
    "kelp",
    "larch",
)
VALUES = (17, 23, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)

PART = '''\
"""Everything about the {part} shelf."""

from stock.ledger import {helper}
from stock.{other} import weigh_{other}

{upper}_LIMIT = {limit}


class {title}Store:
    batch_{part} = {batch}

    def fill_{part}(self, items, patience_{part}={patience}):
        if not items:
            raise ValueError("nothing to put on shelf number {number}")
        {helper}(items)
        return weigh_{other}(items)


def weigh_{part}(items):
    return sum(items) * {number}
'''
CHAINS = ("apple", "berry", "chili", "dill", "endive")
CHAIN = {
    "desk": "from stock.till_{word} import price_{word}\n\n\ndef serve_{word}(items):\n    return price_{word}(items)\n",
    "till": "from stock.book_{word} import rate_{word}\n\n\ndef price_{word}(items):\n    return rate_{word}(items)\n",
    "audit": "from stock.book_{word} import rate_{word}\n\n\ndef audit_{word}():\n    return rate_{word}([])\n",
    "book": "from stock.drawer_{word} import open_{word}\n\n\ndef rate_{word}(items):\n    return open_{word}() * len(items)\n",
    "drawer": "def open_{word}():\n    raise {title}Error(17)\n",
}
"""What a customer meets at the desk, down to the drawer, which may raise an error."""
LEDGER = "\n\n".join(
    f"def note_{name}(items):\n    return len(items)\n" for name in ("arrival", "change", "loss")
)


def write_stock(folder: Path) -> Path:
    """Writes the project without a history."""
    package = folder / "stock"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "ledger.py").write_text(LEDGER)
    for number, part in enumerate(PARTS):
        helper = f"note_{('arrival', 'change', 'loss')[number % 3]}"
        text = PART.format(
            part=part,
            upper=part.upper(),
            title=part.title(),
            helper=helper,
            other=PARTS[number - 1],
            limit=VALUES[number] * 10,
            batch=VALUES[number] * 3,
            patience=VALUES[number],
            number=number + 2,
        )
        (package / f"{part}.py").write_text(text)
    for word in CHAINS:
        for name, text in CHAIN.items():
            code = text.format(word=word, title=word.title())
            (package / f"{name}_{word}.py").write_text(code)
    return folder


def git(folder: Path, *arguments: str) -> str:
    """What git prints, without white space around it."""
    settings = [
        "user.name=Somebody",
        "user.email=s@example.invalid",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
    ]
    given = [word for setting in settings for word in ("-c", setting)]
    done = subprocess.run(
        ["git", *given, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    """Writes texts and bytes below a folder, which it returns; None deletes a file, and `-> target` puts a link in the
    place of an empty folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            (folder / name).unlink()
        elif isinstance(content, str) and content.startswith("-> "):
            (folder / name).rmdir()
            (folder / name).symlink_to(content.removeprefix("-> "))
        else:
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def commit(folder: Path, message: str, files: Mapping[str, str | None]) -> str:
    """Commits everything, with changed files, and returns the commit's id."""
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def with_history(folder: Path) -> Path:
    """The project with commits in which three files changed together with amber.py, four times or more."""
    write_stock(folder)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "all")
    for number, parts in enumerate(
        [("birch", "cedar", "dune")] * 4 + [("birch", "cedar")] * 2 + [("birch",)]
    ):
        for part in ("amber", *parts):
            with (folder / "stock" / f"{part}.py").open("a") as file:
                file.write(f"# change {number}\n")
        git(folder, "commit", "--quiet", "--all", "-m", f"change {number}")
    return folder
