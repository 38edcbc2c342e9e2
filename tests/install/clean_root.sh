#!/bin/sh
# The commands of the README in a root that has only Debian, Python with pip and venv, gcc and make: as root, as another
# user, and under umask 077, each in a clone of its own. By root, with debootstrap:
#
#     tests/install/clean_root.sh                                    # both commands as they are: hours
#     RESULTS='--config scale=smoke' TEST='tests ARGS=tests/run/test_digest.py' tests/install/clean_root.sh
#
# ROOT: the folder of the root, which is kept (default: a temporary one, which is removed)
# AS: who runs it, of "root user umask"    SUITE: Debian's (default: that of this machine)    PYTHON: default python3
# WHEELS: a folder that pip may look into, as for a build of torch for the CPU (default: the index alone)
#
# The mirror is that of apt here. Of this machine's settings the root gets names of hosts, proxies, the certificates
# that PIP_CERT or SSL_CERT_FILE names, and PIP_INDEX_URL.
set -eu
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "only root can make a root; run it by sudo" >&2; exit 2; }
command -v debootstrap > /dev/null || { echo "debootstrap is missing; install it" >&2; exit 2; }

SUITE=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
MIRROR=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
  sed -n "s/^$SUITE main //p" | head -n 1)
[ "$MIRROR" ] || { echo "apt has no source of $SUITE; choose another SUITE" >&2; exit 2; }
if [ -z "${ROOT:-}" ]; then
  ROOT=$(mktemp -d)
  trap 'rm -rf --one-file-system "$ROOT"' EXIT
fi

if [ ! -e "$ROOT/usr/bin/make" ]; then
  debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev,make,python3,python3-pip,python3-venv \
    "$SUITE" "$ROOT" "$MIRROR" > /dev/null || { tail "$ROOT/debootstrap/debootstrap.log" >&2; exit 1; }
  chroot "$ROOT" useradd --create-home reader
fi
cp -L /etc/resolv.conf /etc/hosts "$ROOT/etc/"
CERTIFICATES=${PIP_CERT:-${SSL_CERT_FILE:-}}
[ -z "$CERTIFICATES" ] || cp -L "$CERTIFICATES" "$ROOT/etc/ssl/certificates.pem"
[ -z "${WHEELS:-}" ] || { mkdir -p "$ROOT/wheels" && cp "$WHEELS"/*.whl "$ROOT/wheels/"; }

# In namespaces of their own, so that processes and mounts end with the command.
inside() { # user, umask, folder, command
  env --ignore-environment PATH=/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
    ${no_proxy:+"no_proxy=$no_proxy"} \
    ${PIP_INDEX_URL:+"PIP_INDEX_URL=$PIP_INDEX_URL"} ${CERTIFICATES:+PIP_CERT=/etc/ssl/certificates.pem} \
    ${WHEELS:+PIP_FIND_LINKS=/wheels} \
    unshare --mount --pid --fork sh -c '
      mount -t proc proc "$1/proc" && mkdir -p "$1/dev/shm" && mount -t tmpfs tmpfs "$1/dev/shm" &&
      exec chroot "$1" su "$2" --shell /bin/sh --whitelist-environment \
        LANG,http_proxy,https_proxy,no_proxy,PIP_INDEX_URL,PIP_CERT,PIP_FIND_LINKS \
        --login --command "umask $3 && cd \"$4\" && $5"' inside "$ROOT" "$@"
}

failed=0
for who in ${AS:-root user umask}; do
  case $who in
    root) user=root mask=022 home=/root ;;
    user) user=reader mask=022 home=/home/reader ;;
    umask) user=reader mask=077 home=/home/reader ;;
    *) echo "AS=$who: of root, user, umask" >&2; exit 2 ;;
  esac
  clone=$home/$who/sketchbench
  if [ ! -e "$ROOT$clone" ]; then
    (umask $mask && mkdir -p "$ROOT$home/$who" && git clone --quiet --no-hardlinks . "$ROOT$clone")
    chroot "$ROOT" chown -R "$user:" "$home/$who"
  fi
  for goal in "results ARGS='${RESULTS:-}'" "${TEST:-test}"; do
    if inside "$user" "$mask" "$clone" "make PYTHON=${PYTHON:-python3} $goal"; then
      echo "as $who, make $goal: passed"
    else
      echo "as $who, make $goal: FAILED"
      failed=1
    fi
  done
done
exit $failed
