set -euo pipefail

# Exit codes as iobound's: 2 bad usage, 3 refused to protect data.
die() { printf 'refused: %s\n' "$*" >&2; exit 3; }
say() { printf '%s\n' "$*"; }

if [ "$(id -u)" -ne 0 ]; then
    echo "run this as root" >&2
    exit 2
fi
