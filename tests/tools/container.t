#!/usr/bin/env bash
# Does the container install what the texts ask for, and no more? That its lines work is for `make container-check`,
# which needs root and the network.
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
dockerfile=.devcontainer/Dockerfile
[ -e $dockerfile ] || skip_all "this copy of the tree has no $dockerfile"

# installed FILE: the packages of each apt line, sorted, a line each
installed() { perl -0777 -ne 's/\\\n\s*/ /g; while (/apt(?:-get)? install((?: +[a-z0-9-]+)+)/g) { print join(" ", sort grep { !/^-/ } split " ", $1), "\n" }' "$1"; }
packages=$(installed $dockerfile)
like "$packages" '^[a-z0-9 -]*gcc[a-z0-9 -]*$' "the Dockerfile has one line that installs: $packages"
for page in README.md book/room/handout.md; do
    is "$(installed $page)" "$packages" "$page names the same packages"
done
grep -q '^FROM debian:stable-slim$' $dockerfile
ok $? "it is a Debian"
grep -qE '^RUN.*https?:|^ADD ' $dockerfile
is $? 1 "and fetches nothing else"
perl -MJSON::PP -e 'local $/; my $j = decode_json(<STDIN>); exit($j->{build}{dockerfile} ne "Dockerfile" || $j->{remoteUser} ne "reader")' <.devcontainer/devcontainer.json
ok $? "devcontainer.json names it and its user"
like "$(cat $dockerfile)" 'USER reader' "whom it has"
bin=$(mktemp -d) || exit 1
trap 'rm -rf "$bin"' EXIT
for tool in sh id dirname; do ln -s "$(type -P $tool)" "$bin"; done
said=$(PATH=$bin tests/tools/container 2>&1)
like "$?:$said" '^2:container: (git was not found|making a Debian tree needs root)$' "it says what is missing"
done_testing
