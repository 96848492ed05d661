#!/usr/bin/env bash
# arm64.sh FOLDER PACKAGES... runs the tests of packages as an AArch64 Linux would, below qemu (docs/testing.md). FOLDER gets what that takes,
# unpacked and not installed: qemu's emulator of programs, the C library and libLLVM 19 of Debian for AArch64, and a C compiler for it. It needs Debian with
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
  rm -rf "$folder"/{apt,root,qemu,cross,bin}
  mkdir -p "$folder"/apt/{lists/partial,cache/archives/partial} "$folder"/{root,qemu,cross,bin}
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
  cc=$(command -v aarch64-linux-gnu-gcc || true) ld=$(command -v aarch64-linux-gnu-ld || true) path=
  if [ -z "$cc" ]; then # that of this machine's Debian, with what it needs that a machine without a compiler has not
    names=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
      gcc-aarch64-linux-gnu | sort -u | grep -E '^([a-z].*aarch64-linux-gnu|gcc-.*-aarch64-linux-gnu-base|lib(gcc|c6|atomic1).*-arm64-cross|lib(isl|mpc|mpfr|gmp)[0-9]*)$')
    # shellcheck disable=SC2086
    (cd "$folder/cross" && apt-get -qq -o APT::Sandbox::User="$(id -un)" download $names libc6-dev-arm64-cross linux-libc-dev-arm64-cross)
    for package in "$folder"/cross/*.deb; do dpkg -x "$package" "$folder/cross" && rm "$package"; done
    sed -i "s|\([( ]\)/usr|\1$folder/cross/usr|g" "$folder/cross/usr/aarch64-linux-gnu/lib/libc.so"
    cc=$folder/cross/usr/bin/aarch64-linux-gnu-gcc ld=$folder/cross/usr/bin/aarch64-linux-gnu-ld.bfd
    path="LD_LIBRARY_PATH=$(printf %s: "$folder"/cross/usr/lib/*-linux-gnu)"
  fi
  printf '#!/bin/sh\n%s exec %s "$@"\n' "$path" "$cc" >"$folder/bin/cc"
  # The linker is a program of this machine, and sees its files.
  cat >"$folder/bin/ld" <<END
#!/usr/bin/env bash
for a; do [ "\$a" = -l:ld-linux-x86-64.so.2 ] || args+=("\$a"); done
$path exec $ld -L$folder/root/usr/lib/aarch64-linux-gnu -L$folder/root/usr/lib "\${args[@]}"
END
  chmod +x "$folder"/bin/*
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

export PATH=$folder/bin:$PATH GOARCH=arm64 CGO_ENABLED=0
# shellcheck disable=SC2086
exec go test -vet=off -timeout 0 -exec "$folder/run" -skip "$left" ${FLAGS:-} "$@"
