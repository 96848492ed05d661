#!/bin/sh
# Installs healc for one user, without root: into ~/.local, or PREFIX. It takes the archive for this machine from a folder with the
# files of a release, which may be at a URL, and compares its checksum. `install.sh --help` has the rest.
set -eu

from=${HEAL_FROM:-}
prefix=${PREFIX:-${HOME:+$HOME/.local}}
version=
libc=
remove=

say() { printf '%s\n' "$*" >&2; }
fail() { say "install.sh: $*"; exit 1; }

usage() {
  cat <<'END'
usage: install.sh [--from FOLDER|URL] [--version V] [--prefix FOLDER] [--libc gnu|musl] [--uninstall]

  --from       where the files of a release are, SHA256SUMS among them; also HEAL_FROM. Without it, the folder of this script.
  --version    the version, where that folder has several
  --prefix     where healc goes, ~/.local without it; also PREFIX
  --libc       for Linux: the C library of this machine, if what is found is wrong
  --uninstall  removes what was installed into the prefix
END
}

remove_listed() { # $1: a list; what is in the list $2, too, stays
  while IFS= read -r name; do
    case $name in
    '' | /* | *..*) continue ;; # never outside of the prefix
    esac
    if [ -n "${2:-}" ] && grep -Fqx -- "$name" "$2"; then continue; fi
    rm -f -- "$prefix/$name"
    dir=$(dirname -- "$name")
    while [ "$dir" != . ] && rmdir -- "$prefix/$dir" 2>/dev/null; do dir=$(dirname -- "$dir"); done
  done <"$1"
}

get() { # $1: a file of the release, into $tmp
  case $from in
  *://*)
    if command -v curl >/dev/null 2>&1; then curl -fsSL -o "$tmp/$1" -- "${from%/}/$1"
    elif command -v wget >/dev/null 2>&1; then wget -qO "$tmp/$1" -- "${from%/}/$1"
    else fail "neither curl nor wget is here to fetch $from"
    fi || fail "$1 cannot be had from $from" ;;
  *) cp -- "$from/$1" "$tmp/$1" || fail "there is no $1 in $from" ;;
  esac
}

# All that is done is in here, and begins with the last line: of a script that was fetched in part nothing runs.
main() {
  while [ $# -gt 0 ]; do
    case $1 in
    --from | --version | --prefix | --libc)
      [ $# -ge 2 ] || fail "$1 needs a value; --help says which"
      case $1 in
      --from) from=$2 ;;
      --version) version=${2#v} ;;
      --prefix) prefix=$2 ;;
      --libc) libc=$2 ;;
      esac
      shift 2 ;;
    --uninstall) remove=1; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "there is no option $1" ;;
    esac
  done
  case $prefix in
  /*) ;;
  *) fail "--prefix names the folder to install into from / on, which '$prefix' does not" ;;
  esac

  # The list of what was installed, relative to the prefix, a line each.
  list=$prefix/share/healc/installed

  if [ -n "$remove" ]; then
    [ -f "$list" ] || fail "nothing was installed into $prefix: there is no $list"
    remove_listed "$list"
    rm -f -- "$list"
    rmdir -- "$prefix/share/healc" "$prefix/share" "$prefix" 2>/dev/null || :
    say "healc was removed from $prefix"
    exit 0
  fi

  if [ -z "$from" ]; then
    here=$(dirname -- "$0")
    [ -f "$here/SHA256SUMS" ] || fail "--from says where the files of a release are"
    from=$here
  fi

  case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "there is no healc for $(uname -s) that this script installs: Linux and macOS; for Windows there is a zip" ;;
  esac
  case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no healc for processors of $(uname -m): x86-64 and AArch64" ;;
  esac

  # A system has musl where it has the loader of musl and none of glibc.
  if [ "$os" = linux ] && [ -z "$libc" ]; then
    libc=gnu
    set -- /lib/ld-musl-*.so.1
    if [ -e "$1" ] && ! [ -e /lib64/ld-linux-x86-64.so.2 ] && ! [ -e /lib/ld-linux-aarch64.so.1 ]; then libc=musl; fi
  fi
  target=$os-$arch
  case $libc in
  '' | gnu) ;;
  musl) target=$target-musl ;;
  *) fail "--libc $libc is neither gnu nor musl" ;;
  esac

  tmp=$(mktemp -d)
  trap 'rm -rf "$tmp"' EXIT
  trap 'exit 1' HUP INT TERM

  get SHA256SUMS
  archives=$(sed -n "s/^[0-9a-f]\{64\}  \(healc-[0-9][0-9A-Za-z.+-]*-$target\.tar\.gz\)\$/\1/p" "$tmp/SHA256SUMS")
  if [ -n "$version" ]; then
    archive=healc-$version-$target.tar.gz
    printf '%s\n' "$archives" | grep -Fqx -- "$archive" || fail "$from has no healc $version for $target"
  else
    archive=$archives
    case $archive in
    '') fail "$from has no healc for $target" ;;
    *"
"*) fail "$from has several versions, of which --version names one: $(printf '%s' "$archives" | tr '\n' ' ')" ;;
    esac
  fi
  get "$archive"

  if command -v sha256sum >/dev/null 2>&1; then sum=$(sha256sum <"$tmp/$archive")
  elif command -v shasum >/dev/null 2>&1; then sum=$(shasum -a 256 <"$tmp/$archive")
  else fail "neither sha256sum nor shasum is here to check $archive"
  fi
  grep -Fqx -- "${sum%% *}  $archive" "$tmp/SHA256SUMS" || fail "$archive is damaged: its checksum is not that of SHA256SUMS"

  # Unpacked on the file system of the prefix, so that a program that runs is replaced at once.
  mkdir -p -- "$prefix/share/healc" || fail "$prefix cannot be written; --prefix names another folder"
  new=$prefix/share/healc/new.$$
  trap 'rm -rf "$tmp" "$new"; rmdir -- "$prefix/share/healc" 2>/dev/null || :' EXIT
  mkdir -- "$new"
  tar -xzf "$tmp/$archive" -C "$new"
  root=$new/${archive%.tar.gz}
  said=$("$root/bin/healc" version 2>&1) ||
    fail "nothing was installed, as this healc does not start: $said; --libc says which C library this machine has"
  (cd "$root" && find bin share -type f) | LC_ALL=C sort >"$tmp/installed"
  : >"$tmp/before"
  if [ -f "$list" ]; then cp -- "$list" "$tmp/before"; fi
  cat "$tmp/before" "$tmp/installed" >"$list" # so that --uninstall removes what an end in the midst of this leaves
  while IFS= read -r name; do
    mkdir -p -- "$prefix/$(dirname -- "$name")"
    mv -f -- "$root/$name" "$prefix/$name"
  done <"$tmp/installed"
  remove_listed "$tmp/before" "$tmp/installed"
  cp -- "$tmp/installed" "$list"

  healc=$prefix/bin/healc
  say "installed $said into $prefix"
  case :${PATH:-}: in
  *:"$prefix/bin":*) ;;
  *) say "$prefix/bin is not on your PATH: add it there, in ~/.profile, as by  PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
  if [ "$os" = linux ] && ! packages=$("$healc" doctor --packages 2>&1); then
    say "Without libLLVM programs run slowly, with --backend interp. What this system has for healc:"
    say "$packages"
  fi
}

main "$@"
