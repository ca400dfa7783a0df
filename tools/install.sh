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

# uv reads neither pip's configuration nor pip's variables, and trusts no certificate of the machine by itself.
as_pip_does() {
    settings=$("$python" -m pip config list 2> /dev/null || true)
    index=$(setting index-url)
    cert=$(setting cert)
    export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"
    if [ -n "$index" ]; then
        export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
    fi
    if [ -n "$cert" ]; then
        export SSL_CERT_FILE="${SSL_CERT_FILE:-$cert}"
    fi
}

# pip's setting of that name: of its variable, or else of its files, of which the last counts.
setting() {
    for place in :env: install global; do
        echo "$settings" | sed -n "s/^$place\.$1='\(.*\)'\$/\1/p" | tail -n 1
    done | head -n 1
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
# On all cores, unlike pip; without what no sandbox needs and is large, which is compiled when it is imported first.
"$venv/bin/python" -m compileall -q -j 0 -x '/(tests|pip|numpy|docutils|dialects)/' "$venv/lib" > /dev/null || true
