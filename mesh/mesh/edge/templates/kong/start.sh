#!/bin/sh
# Starts Kong in the foreground, in this process: `kong start` would be a parent that does not forward signals.
# Usage: start.sh KONG PREFIX
set -eu
"$1" prepare -p "$2"
# Sockets of a killed Kong; nginx would treat them as those of a running one.
rm -f "$2"/sockets/*
openresty=$(sed -n 's/^openresty_path = //p' "$2/.kong_env")
# Where Kong itself looks for its nginx; the first nginx on PATH may be another build.
PATH="${openresty:+$openresty/nginx/sbin:}/usr/local/openresty/nginx/sbin:/opt/openresty/nginx/sbin:$PATH"
exec nginx -p "$2" -c nginx.conf
