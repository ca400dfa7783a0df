"""A container image of this machine's shell and its libraries."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator

import pytest

PROGRAMS = ("sh", "grep", "touch", "rm", "mkdir", "cat")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image of a shell, by its digest, in a separate store."""
    engine = shutil.which("podman")
    if not engine:
        pytest.skip("needs podman: apt-get install podman")
    folder = tmp_path_factory.mktemp("image")
    storage = folder / "storage.conf"
    storage.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    )
    programs = [os.path.realpath(found) for name in PROGRAMS if (found := shutil.which(name))]
    libraries = re.findall(
        r"(/\S+) \(0x", subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout
    )
    (folder / "note").write_text("here\n")
    with tarfile.open(folder / "image.tar", "w") as tar:
        tar.dereference = True
        for name, program in zip(PROGRAMS, programs, strict=True):
            tar.add(program, f"bin/{name}")
        for library in sorted(set(libraries)):
            tar.add(library, library[1:])
        tar.add(folder / "note", "only-in-the-image")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CONTAINERS_STORAGE_CONF", str(storage))
        made = subprocess.run(
            [
                engine,
                "import",
                "--change",
                "ENV PATH=/bin",
                "--change",
                "ENV COLOUR=green",
                str(folder / "image.tar"),
                "localhost/shell:1",
            ],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            pytest.skip(f"podman cannot make an image here: {made.stderr.strip().splitlines()[-1]}")
        inspected = subprocess.run(
            [engine, "image", "inspect", "localhost/shell:1"],
            capture_output=True,
            text=True,
            check=True,
        )
        yield f"localhost/shell@{json.loads(inspected.stdout)[0]['Digest']}"
        subprocess.run([engine, "rmi", "--force", "localhost/shell:1"], capture_output=True)
