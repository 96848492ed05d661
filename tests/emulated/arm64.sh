#!/usr/bin/env bash
# arm64.sh FOLDER PACKAGES... runs the tests of packages as an AArch64 Linux would, below qemu (docs/testing.md). FOLDER gets what that takes,
# unpacked and not installed: qemu's emulator of programs, and the C library and libLLVM 19 of Debian for AArch64. It needs Debian with
# curl, unshare, and a Linux of 6.7 or newer, where a namespace may say which program runs those of another processor: so tests can
# start themselves and others. Variables: SKIP is a pattern of tests to leave out, FLAGS more flags of `go test`.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."

# What qemu does not emulate: limits of the address space (it needs more itself) and maps of less than what is mapped at once.
# In the namespace the user is root, with no other users: files that may not be read, and those of others. Nested emulators.
left="TestAddressLimit|TestAddressSpace|TestCacheReadOnly|TestCacheOfOthers|TestAArch64|TestAVX512${SKIP:+|$SKIP}"

if [ ! -x "$folder/run" ]; then
  rm -rf "$folder"/{apt,root,qemu,ld}
  mkdir -p "$folder"/apt/{lists/partial,cache/archives/partial} "$folder"/{root,qemu}
  touch "$folder/apt/status"
  # Debian 13 has an emulator that runs on older ones, too.
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg arch=arm64,$(dpkg --print-architecture)]" \
    "http://deb.debian.org/debian trixie main" >"$folder/apt/sources.list"
  apt() {
    apt-get -qq -o Dir::State="$folder/apt" -o Dir::State::lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" \
      -o Dir::Cache="$folder/apt/cache" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::sourcelist="$folder/apt/sources.list" \
      -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "APT::Architectures::=$(dpkg --print-architecture)" \
      -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@"
  }
  apt update
  apt install --download-only -y --no-install-recommends libllvm19 libc6-dev libgcc-s1 >&2
  for package in "$folder"/apt/cache/archives/*.deb; do dpkg -x "$package" "$folder/root"; done
  [ -e "$folder/root/lib" ] || ln -s usr/lib "$folder/root/lib"
  (cd "$folder/qemu" && apt download "qemu-user:$(dpkg --print-architecture)" && dpkg -x qemu-user_*.deb . && rm qemu-user_*.deb)
  # ld of GNU links for one kind of processor; its libraries are found beside it.
  if ! command -v aarch64-linux-gnu-ld >/dev/null; then
    mkdir "$folder/ld"
    (cd "$folder/ld" && apt-get -qq -o APT::Sandbox::User="$(id -un)" download binutils-aarch64-linux-gnu && dpkg -x binutils-aarch64-linux-gnu_*.deb .)
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$(echo "$folder"/ld/usr/lib/*-linux-gnu)" \
      "$folder/ld/usr/bin/aarch64-linux-gnu-ld.bfd" >"$folder/ld/ld"
    chmod +x "$folder/ld/ld"
  fi
  cat >"$folder/run.new" <<'END'
#!/usr/bin/env bash
# run PROGRAM ARGUMENTS... of AArch64; what it starts may be of either processor.
here=$(cd "$(dirname "$0")" && pwd)
export QEMU_LD_PREFIX=$here/root here
exec unshare --map-root-user --mount bash -c '
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s ":heal-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$here/qemu/usr/bin/qemu-aarch64:OF" >/proc/sys/fs/binfmt_misc/register
exec "$@"' run "$@"
END
  rm -rf "$folder/apt"
  chmod +x "$folder/run.new" && mv "$folder/run.new" "$folder/run"
fi

HEAL_LD=${HEAL_LD:-$(command -v aarch64-linux-gnu-ld || echo "$folder/ld/ld")}
export HEAL_LD GOARCH=arm64 CGO_ENABLED=0
# shellcheck disable=SC2086
exec go test -vet=off -timeout 0 -exec "$folder/run" -skip "$left" ${FLAGS:-} "$@"
