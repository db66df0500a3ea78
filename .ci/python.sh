#!/bin/sh
# Run a Python program with a suitable Python of this machine: sh .ci/python.sh PROGRAM [ARGUMENT...]
#
# Suitable is CPython 3.11 to 3.14. One that can make virtual environments is preferred; the first word belongs to
# $PYTHON where that is set. PROGRAM has to do without any installed package.
set -eu

suitable='import sys
sys.exit(not ((3, 11) <= sys.version_info[:2] < (3, 15) and sys.implementation.name == "cpython"))'

for also in 'import ensurepip, venv' ''; do
    for python in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c "$also
$suitable" >/dev/null 2>&1; then
            exec "$python" "$@"
        fi
    done
done

echo "Sluicegate needs Python 3.11 to 3.14, and none was found: install one, or name it with PYTHON=/path/to/python3." >&2
exit 1
