# Sourced by the tests of this folder: the folder of atomsan in $bin, a temporary folder to work in, and checks.
# shellcheck shell=bash
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "${1:?where is atomsan?}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'cd /; umount "$tmp/small" 2>/dev/null; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
unset ATOMSAN_OPTIONS
export LC_ALL=C
checks=0
failed=0
fail() {
	echo "FAIL $*"
	for f in out err; do [ ! -s $f ] || tail -n 8 $f | sed "s/^/    $f: /"; done
	failed=$((failed + 1))
}
# exits STATUS COMMAND...: runs it, with its output in out and err
exits() {
	local want=$1 got=0
	shift
	checks=$((checks + 1))
	timeout 60 "$@" >out 2>err </dev/null || got=$?
	[ $got = "$want" ] || fail "${*//$bin\//}: exit $got, not $want"
}
prints() {
	checks=$((checks + 1))
	grep -qaE -- "$2" "$1" || fail "$1 has no line like '$2'"
}
prints_not() {
	checks=$((checks + 1))
	! grep -qaE -- "$2" "$1" || fail "$1 has '$2'"
}
# is WHAT WANTED GOT
is() {
	checks=$((checks + 1))
	[ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"
}
build_victim() {
	gcc -O1 -g -c "$here/../programs/window.c" -o window.o &&
		"$bin/atomsan-cc" -g -O1 -pthread -I "$here/../programs" "$here/victim.c" window.o -o victim || exit 1
}
skip() {
	echo "skipped: $*"
	exit 77
}
finish() {
	echo "$checks checks, $failed failed"
	[ $failed = 0 ] && [ $checks -ge "$1" ]
	exit
}
