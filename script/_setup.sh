# Sourced by the scripts beside it: `install FILE` brings .venv to what the hashed requirements FILE says.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
python=$venv/bin/python

say() { printf 'countersign: %s\n' "$*" >&2; }

will_do() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# The first Python that will do; PYTHON names one to prefer.
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if will_do "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

# Whether a set-up has come to its end in .venv, and what that needs is still there. One that was stopped in the middle
# leaves a Python without pip, or half a package, and is begun anew; so is what uv made, which puts no pip in, without uv.
is_whole() {
    local needed=sys
    command -v uv >/dev/null || needed='sys, pip'
    compgen -G "$venv/.*.sum" >/dev/null &&
        "$python" -c "import $needed; sys.exit(sys.version_info < (3, 11))" 2>/dev/null
}

make_venv() {
    is_whole && return
    if [ -n "${PYTHON:-}" ] && ! will_do "$PYTHON"; then
        say "PYTHON=$PYTHON is no Python 3.11 or later: correct it, or leave it out"
        exit 2
    fi
    rm -rf "$venv"
    local base
    base=$(find_python) || base=
    if command -v uv >/dev/null; then
        uv venv --quiet --python "${base:->=3.11}" "$venv"
    elif [ -z "$base" ]; then
        say "needs Python 3.11 or later (or uv): none found; PYTHON=/path/to/python names one"
        exit 2
    elif ! "$base" -m venv "$venv" >&2; then
        rm -rf "$venv"
        say "$base cannot make a virtual environment: install its venv module (on Debian: python3-venv), or uv"
        exit 2
    fi
}

# uv leaves out the byte code unless told, which would cost the first start five seconds.
install() {
    local wanted=$root/$1 stamp=$venv/.$(basename "$1").sum sum
    sum=$(cksum <"$wanted")
    # One set-up at a time, where the system has flock; it is let go before the program starts.
    exec 9>"$root/.venv.lock"
    if command -v flock >/dev/null; then flock 9; fi
    make_venv
    if [ "$(cat "$stamp" 2>/dev/null)" != "$sum" ]; then
        say "installing $1 into .venv (once)"
        if command -v uv >/dev/null; then
            uv pip install --quiet --compile-bytecode --require-hashes --python "$python" -r "$wanted" >&2
        else
            "$python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$wanted" >&2
        fi
        printf '%s\n' "$sum" >"$stamp"
    fi
    exec 9>&-
}

# What the program needs to run, and what STORAGE_URL=s3://... needs on top where the environment or .env has that.
install_app() {
    install requirements/app.txt
    local storage=${STORAGE_URL:-}
    [ -n "$storage" ] || storage=$(sed -n "s/^\(export \)\?STORAGE_URL=[\"']\?//p" "$root/.env" 2>/dev/null | tail -n 1) || true
    case $storage in s3:*) install requirements/s3.txt ;; esac
}
