"""Signatures of archives: a DSSE envelope over the bag's tag manifest, signed with an ed25519 key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

from lensbench.archive import SIGNATURE
from lensbench.archive.bag import MANIFEST
from lensbench.core.errors import UserError
from lensbench.core.system.files import write_json

TYPE = "text/vnd.bagit-tagmanifest"


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a file. Raises UserError when it contains none."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError(
            f"archive.sign_key: {path} is not an ed25519 private key in PEM without a password; "
            f"create one with: openssl genpkey -algorithm ed25519 -out {path}"
        )
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """The public key in a file. Raises UserError when it contains none."""
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UserError(
            f"--key: {path} is not an ed25519 public key in PEM; the signer exports it with: openssl pkey -pubout"
        )
    return key


def sign(bag: Path, key: Ed25519PrivateKey) -> None:
    """Writes the signature next to the manifest."""
    envelope = Envelope((bag / MANIFEST).read_bytes(), TYPE, {})
    envelope.sign(CryptoSigner(key))
    write_json(bag / SIGNATURE, envelope.to_dict())


def is_signed(bag: Path) -> bool:
    """True when there is a signature, valid or not."""
    return (bag / SIGNATURE).exists()


def signature_problem(bag: Path, key: Ed25519PublicKey | None) -> str:
    """What is wrong with the signature of a bag; "" when nothing is. Without a key, checks only that it is of this
    bag."""
    if not is_signed(bag):
        return f"{SIGNATURE}: is missing: the archive is not signed" if key else ""
    try:
        value: dict[str, Any] = json.loads((bag / SIGNATURE).read_text(encoding="utf-8"))
        envelope = Envelope.from_dict(value)
        if envelope.payload != (bag / MANIFEST).read_bytes() or envelope.payload_type != TYPE:
            return f"{SIGNATURE}: does not sign these files"
        if key:
            envelope.verify([SSlibKey.from_crypto(key)], threshold=1)
    except VerificationError:
        return f"{SIGNATURE}: was not signed with this key"
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return f"{SIGNATURE}: is not a signature"
    return ""
