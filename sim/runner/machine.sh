#!/bin/sh
# Looks at the machine before there is a virtual environment, with nothing but a shell.
#
# usage: machine.sh setup|doctor PYTHON
#   setup   say what is missing; fail only if no environment can be made without it
#   doctor  say everything; fail if anything is missing
set -u
mode=$1
python=$2
missing=0

# install DEBIAN FEDORA ARCH BREW: the command that brings a package on this system
install() {
    root=""
    [ "$(id -u 2>/dev/null)" = 0 ] || root="sudo "
    if command -v apt-get >/dev/null 2>&1; then echo "${root}apt-get install -y $1"
    elif command -v dnf >/dev/null 2>&1; then echo "${root}dnf install -y $2"
    elif command -v pacman >/dev/null 2>&1; then echo "${root}pacman -S --noconfirm $3"
    elif command -v brew >/dev/null 2>&1; then echo "brew install $4"
    else echo "install $1 with the package manager of this system"
    fi
}

# report NAME FOUND MEND
report() {
    if [ -n "$2" ]; then
        if [ "$mode" = doctor ]; then printf '  %-24s  %s\n' "$1" "$2"; fi
    else
        missing=$((missing + 1))
        printf '  %-24s  MISSING   to mend: %s\n' "$1" "$3"
    fi
}

# first NAME...: the first program that exists
first() {
    for name in "$@"; do
        if command -v "$name" 2>/dev/null; then return; fi
    done
}

version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || version=""
found=""
if [ -n "$version" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    found="$version ($python)"
fi
mend="$(install python3 python3.11 python python@3.12), or name a newer one: make PYTHON=python3.12"
[ -z "$version" ] || [ -n "$found" ] || mend="$python is $version; $mend"
report "Python 3.11 or newer" "$found" "$mend"
if [ -n "$found" ]; then
    venv=""
    if "$python" -c 'import venv, ensurepip' 2>/dev/null; then venv="in $python"; fi
    report "Python's venv module" "$venv" "$(install python3-venv python3 python python)"
fi
unusable=$missing

report "g++" "$(first ${CXX:-g++ c++ clang++})" "$(install g++ gcc-c++ gcc gcc)"
report "make" "$(first make gmake)" "$(install make make make make)"
report "perl" "$(first perl)" "$(install perl perl perl perl)"

if [ "$unusable" != 0 ]; then
    echo "the environment cannot be made until this is mended" >&2
    exit 2
fi
if [ "$mode" = doctor ] && [ "$missing" != 0 ]; then exit 1; fi
exit 0
