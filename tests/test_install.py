"""tools/install.sh: uv takes what pip is told, so that it can be had wherever pip can."""

import hashlib
import os
import shutil
import ssl
import subprocess
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def write_certificate(folder: Path) -> None:
    """A certificate for localhost that no machine knows, with its key."""
    options = (
        "-x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    files = ["-keyout", "key.pem", "-out", "certificate.pem"]
    plain = ["-addext", "basicConstraints=critical,CA:FALSE"]
    command = ["openssl", "req", *options.split(), *plain, *files]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def write_index(folder: Path) -> str:
    """An index with the package `seek`. Returns the line of a lock file for it."""
    wheel = folder / "simple" / "seek" / "seek-1.2.3-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as file:
        info = "seek-1.2.3.dist-info"
        file.writestr("seek.py", "FOUND = True\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: seek\nVersion: 1.2.3\n")
        kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        file.writestr(f"{info}/WHEEL", kind)
        file.writestr(f"{info}/RECORD", "")
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    return f"seek==1.2.3 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


@pytest.mark.slow
def test_uv_uses_the_index_and_the_certificate_of_pips_configuration(tmp_path: Path) -> None:
    uv = ROOT / ".cache" / "uv"
    if not uv.is_dir() or not shutil.which("openssl"):
        pytest.skip("there is no uv here (make setup fetches it), or no openssl")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "uv").symlink_to(uv)
    write_certificate(tmp_path)
    (tmp_path / "seek.lock").write_text(write_index(tmp_path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        settings = f"[global]\nindex-url = https://localhost:{server.server_port}/simple\n"
        (tmp_path / "pip.conf").write_text(f"{settings}cert = {tmp_path}/certificate.pem\n")
        installed = subprocess.run(
            [ROOT / "tools" / "install.sh", sys.executable, "venv", "seek.lock"],
            cwd=tmp_path,
            env={
                "HOME": str(tmp_path),
                "PATH": os.environ["PATH"],
                "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
            },
            capture_output=True,
            text=True,
        )
        server.shutdown()
    assert installed.returncode == 0, installed.stderr
    assert (installed.stderr, "pip" in installed.stdout) == ("", False), installed.stdout
    found = [tmp_path / "venv" / "bin" / "python", "-c", "import seek; print(seek.FOUND)"]
    assert subprocess.run(found, capture_output=True, text=True).stdout == "True\n"
