#!/bin/sh
# Starts Kong in the foreground, as the process that it is started as: `kong start` would be a parent that passes no signal on.
# Usage: start.sh KONG PREFIX
set -eu
"$1" prepare -p "$2"
# Of a Kong that was killed; nginx would take them for those of one that runs.
rm -f "$2"/sockets/*
openresty=$(sed -n 's/^openresty_path = //p' "$2/.kong_env")
# Where Kong itself looks for its nginx; one that comes first on PATH may be another build.
PATH="${openresty:+$openresty/nginx/sbin:}/usr/local/openresty/nginx/sbin:/opt/openresty/nginx/sbin:$PATH"
exec nginx -p "$2" -c nginx.conf
