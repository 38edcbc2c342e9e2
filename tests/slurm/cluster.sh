#!/bin/sh
# A SLURM cluster of one node, this machine, for tests; needs root, and Debian's packages slurm-wlm and munge.
#
#   sh tests/slurm/cluster.sh up FOLDER      # starts it; then `sbatch` and the like of FOLDER/bin lead to it
#   sh tests/slurm/cluster.sh down FOLDER    # ends all jobs and daemons, and removes FOLDER
#
# Everything that it writes is in FOLDER, so /etc and /var stay as they are. (SLURM_CONF alone would not do: Snakemake's
# plugin clears SLURM_* before it calls srun.) It does without systemd, cgroups and
# slurmdbd, so it runs in a container. Jobs over their memory are found by polling, once a second. The node has a GPU
# by name only (/dev/null), so that a job which asks for one is taken and can be looked at.
set -eu

up() {
  [ ! -e "$folder" ] || fail "$folder is there; take that cluster down first, or name another folder"
  for program in munged slurmctld slurmd; do
    command -v $program > /dev/null || fail "$program is not installed: apt-get install slurm-wlm munge"
  done
  [ "$(id -u)" -eq 0 ] || fail "slurmd starts jobs for users, so it needs root"
  mkdir -p "$folder/state" "$folder/spool"
  chmod 711 "$folder"
  (umask 077; head -c 256 /dev/urandom > "$folder/munge.key")
  write_configs
  write_commands
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --seed-file="$folder/munge.seed" --log-file="$folder/munged.log"
  slurmctld -c
  slurmd
  for _ in $(seq 120); do
    case "$(sinfo --noheader --format=%t 2> /dev/null)" in idle) return ;; esac
    sleep 0.25
  done
  tail -n 5 "$folder"/*.log >&2
  down
  fail "the node did not become idle within 30 seconds; its logs' last lines are above"
}

# The node is as large as this machine; two configs are all that SLURM needs.
write_configs() {
  node=$(hostname -s)
  mebibytes=$(($(awk '/^MemTotal:/ {print $2}' /proc/meminfo) / 1024))
  cat > "$folder/slurm.conf" << CONF
ClusterName=test
SlurmctldHost=$node(localhost)
SlurmctldPort=${SLURM_TEST_PORT:-26817}
SlurmdPort=$((${SLURM_TEST_PORT:-26817} + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SchedulerParameters=sched_interval=5
KillWait=5
MinJobAge=3600
ReturnToService=2
GresTypes=gpu
NodeName=$node NodeAddr=localhost CPUs=$(getconf _NPROCESSORS_ONLN) RealMemory=$mebibytes Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
  echo "Name=gpu File=/dev/null" > "$folder/gres.conf"
}

write_commands() {
  mkdir "$folder/bin"
  for name in sbatch srun scancel squeue scontrol sinfo sacct; do
    printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "'$folder/slurm.conf'" "$(command -v $name)" > "$folder/bin/$name"
    chmod +x "$folder/bin/$name"
  done
}

down() {
  [ -f "$folder/slurm.conf" ] || fail "$folder is no cluster of this script"
  scancel --user="$(id -un)" 2> /dev/null || true
  for _ in $(seq 60); do
    [ -n "$(squeue --noheader 2> /dev/null)" ] || break
    sleep 0.25
  done
  for daemon in slurmd slurmctld munged; do
    stop "$folder/$daemon.pid"
  done
  rm -rf "$folder"
}

stop() {
  [ -s "$1" ] || return 0
  pid=$(cat "$1")
  kill "$pid" 2> /dev/null || return 0
  for _ in $(seq 80); do
    kill -0 "$pid" 2> /dev/null || return 0
    sleep 0.25
  done
  kill -KILL "$pid" 2> /dev/null || true
}

fail() {
  echo "cluster.sh: error: $1" >&2
  exit 1
}

[ $# -eq 2 ] || fail "usage: cluster.sh up|down FOLDER"
case "$2" in
  /*) folder=$2 ;;
  *) folder=$PWD/$2 ;;
esac
export SLURM_CONF="$folder/slurm.conf"
case "$1" in
  up) up ;;
  down) down ;;
  *) fail "$1 is not known; choose from up, down" ;;
esac
