#!/bin/sh
# Installs lock files into a virtual environment: tools/install.sh PYTHON VENV LOCK...
#
# uv needs a seventh of pip's CPU time for it. It comes from the package index with a hash, as everything else does. Where
# it cannot be had, or fails, pip goes on. Both refuse a file whose hash is not in the lock.
set -eu
python=$1
venv=$2
shift 2
uv=.cache/uv/bin/uv

has_uv() {
    [ -x "$uv" ] && return
    "$python" -m pip install --quiet --target .cache/uv --no-deps --require-hashes -r requirements-uv.lock 2> /dev/null
}

# uv reads neither pip's configuration nor pip's variables.
as_pip_does() {
    index=${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2> /dev/null || true)}
    if [ -n "$index" ]; then
        export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
    fi
    if [ -n "${PIP_CERT:-}" ]; then
        export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"
    fi
}

with_uv() {
    as_pip_does
    [ -x "$venv/bin/python" ] || "$uv" venv --quiet --python "$python" "$venv"
    for lock in "$@"; do
        "$uv" pip install --quiet --python "$venv/bin/python" --no-deps --require-hashes -r "$lock" || return
    done
}

with_pip() {
    [ -x "$venv/bin/pip" ] || "$python" -m venv --clear "$venv"
    for lock in "$@"; do
        "$venv/bin/pip" install --quiet --no-compile --no-deps --require-hashes -r "$lock"
    done
}

echo "installing the packages of $* into $venv"
if ! { has_uv && with_uv "$@"; }; then
    echo "no uv here, so pip installs them: about half a minute"
    with_pip "$@"
fi
echo "compiling them"
"$venv/bin/python" -m compileall -q -j 0 -x /tests/ "$venv/lib" > /dev/null || true  # on all cores, unlike pip
