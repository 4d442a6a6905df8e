#!/bin/sh
# fill.sh TEMPLATE FILE NAME=VALUE...: writes TEMPLATE to FILE with VALUE for each @NAME@. Values may have any characters
# except for line ends.
set -eu
template=$1 file=$2
shift 2
for pair in "$@"; do
    value=$(printf '%s' "${pair#*=}" | sed 's/[&|\\]/\\&/g')
    set -- "$@" -e "s|@${pair%%=*}@|$value|g"
    shift
done
sed "$@" "$template" >"$file"
# Whatever the umask is.
chmod 644 "$file"
