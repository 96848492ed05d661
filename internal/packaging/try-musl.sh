#!/usr/bin/env bash
# Installs a release by install.sh where there is no C library of GNU, only musl and busybox, as on Alpine, and runs a program there as a
# user without rights:
#
#   internal/packaging/try-musl.sh dist
#
# It needs root, and Debian's packages musl and busybox-static (or busybox, if that is static), and says what is missing where it is
# skipped. libLLVM is not there, since Debian has none for musl: what runs is the interpreter.
set -euo pipefail
dist=$(readlink -f "${1:?the folder of a release}")
skip() { echo "skipped: $*"; exit 0; }
fail() { echo "try-musl: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || skip "a root of its own needs root"
loader=/lib/ld-musl-$(uname -m).so.1
[ -e "$loader" ] || skip "no musl (apt-get install musl)"
box=$(command -v busybox) || skip "no busybox (apt-get install busybox-static)"
unshare --mount --pid --fork true 2>/dev/null || skip "this machine lets nobody make namespaces, even root"

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root"/{bin,lib,etc,dev,proc,tmp,dist,home/tester}
chmod 1777 "$root/tmp"
cp "$box" "$root/bin/busybox"
cp -L "$loader" "$root$loader"
cp "$dist"/* "$root/dist/"
printf 'ID=alpine\nPRETTY_NAME="Alpine, or what is like it"\n' >"$root/etc/os-release"
printf 'root:x:0:0::/:/bin/sh\ntester:x:1000:1000::/home/tester:/bin/sh\n' >"$root/etc/passwd"
chown 1000:1000 "$root/home/tester"
mknod -m 666 "$root/dev/null" c 1 3
inside() { unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" /bin/busybox "$@"; }
inside --install -s /bin 2>/dev/null || skip "busybox is not static (apt-get install busybox-static)"
user() { inside su tester -c "export HOME=/home/tester PATH=/home/tester/.local/bin:/bin; $1"; }

said=$(user 'sh /dist/install.sh 2>&1') || fail "install.sh: $said"
echo "$said"
case $said in *'apk add llvm19-libs'*) ;; *) fail "nothing says that libLLVM is missing" ;; esac
example=share/doc/healc/examples/life.heal
user 'healc version'
[ "$(user "cd ~/.local && healc run --backend interp $example" | tail -n 1)" = ' [0 0 0 0 0 0]]' ] || fail "the interpreter is wrong"
said=$(user "cd ~/.local && healc run $example 2>&1") && fail "machine code is made without libLLVM"
echo "$said"
case $said in *'--backend interp'*) ;; *) fail "nothing says how programs run without it" ;; esac
user 'sh /dist/install.sh --uninstall' || fail "it cannot be removed"
[ -z "$(ls -A "$root/home/tester/.local" 2>/dev/null)" ] || fail "something is left"
echo "try-musl: all went well"
