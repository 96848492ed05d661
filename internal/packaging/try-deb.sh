#!/usr/bin/env bash
# Installs a deb of healc into a fresh Debian and uses it there as a user without rights:
#
#   internal/packaging/try-deb.sh dist/healc_*_amd64.deb [SUITE]
#
# SUITE is trixie without it; MIRROR is where Debian is, and BASE a folder with a fresh Debian that is copied in place of a new one.
# It needs root and debootstrap, and says what is missing where it is skipped. Nothing is left outside of a temporary folder.
set -euo pipefail
deb=$(readlink -f "${1:?the deb}")
suite=${2:-trixie}
skip() { echo "skipped: $*"; exit 0; }
fail() { echo "try-deb: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || skip "a new system needs root"
[ -n "${BASE:-}" ] || command -v debootstrap >/dev/null || skip "no debootstrap (apt-get install debootstrap)"
unshare --mount --pid --fork true 2>/dev/null || skip "this machine lets nobody make namespaces, even root"

dir=$(mktemp -d)
trap 'rm -rf --one-file-system "$dir"' EXIT
root=$dir/root
if [ -n "${BASE:-}" ]; then cp -a "$BASE" "$root"
else debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"} >"$dir/log" || { tail "$dir/log" >&2; fail "no $suite"; }
fi
cp "$deb" "$root/tmp/healc.deb"
chmod 755 "$dir" "$root"

# inside runs a command there, with its own /proc, which goes away with it
inside() { unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
user() { inside su -s /bin/sh - tester -c "$1"; }

inside apt-get update -qq
inside apt-get install -y -qq /tmp/healc.deb >"$dir/log" 2>&1 || { tail "$dir/log" >&2; fail "it cannot be installed"; }
inside useradd --create-home tester
echo "installed with $(inside dpkg --list 'libllvm*' binutils | awk '$1 == "ii" { print $2 }' | xargs)"

user 'healc version && healc doctor && healc doctor --packages'
doc=/usr/share/doc/healc
[ "$(user "cd $doc && healc run examples/digits.heal" | head -n 1)" = 'accuracy 0.9048414' ] || fail "digits.heal is wrong"
user "healc compile $doc/examples/attention.heal -o attention.so" || fail "no shared library is made"
inside test -s /home/tester/attention.so || fail "there is no shared library"
for file in man/man1/healc-run.1.gz bash-completion/completions/healc zsh/vendor-completions/_healc fish/vendor_completions.d/healc.fish \
  doc/healc/copyright doc/healc/sbom.cdx.json; do
  # an image of a container may leave documents out, which a fresh Debian does not
  inside test -s "/usr/share/$file" || fail "there is no /usr/share/$file"
done
inside dpkg --verify healc || fail "files are not what the package says"
inside apt-get remove -y -qq healc >"$dir/log" 2>&1 || { tail "$dir/log" >&2; fail "it cannot be removed"; }
! inside test -e /usr/bin/healc || fail "it is not removed"
! inside test -e /usr/share/doc/healc || fail "documents are left"
echo "try-deb: all went well"
