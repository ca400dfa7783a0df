#!/usr/bin/env bash
# A Slurm cluster on one machine, for tests: Debian's controller and two nodes, on loopback, in its own folder.
#
#   tools/slurm.sh start|status|stop
#
# Needs root and: apt-get install slurmctld slurmd slurm-client munge. `stop` ends all daemons and removes the folder.
set -euo pipefail

home=/run/lensbench-slurm
link=/run/slurm/conf # where Slurm's programs look when there is no /etc/slurm/slurm.conf: they drop SLURM_CONF inside jobs
nodes=(n1 n2)

start() {
    [ "$(id -u)" = 0 ] || fail "must be root"
    for program in slurmctld slurmd munged; do
        command -v $program > /dev/null || fail "$program is missing: apt-get install slurmctld slurmd slurm-client munge"
    done
    [ ! -e /etc/slurm/slurm.conf ] || fail "this machine has a Slurm of its own (/etc/slurm/slurm.conf)"
    [ ! -e $home ] || fail "it was started already: $0 stop"
    mkdir -m 755 $home
    mkdir -p $home/state "$(dirname $link)"
    configure > $home/slurm.conf
    ln -s $home $link
    (umask 077 && head -c 1024 /dev/urandom > $home/munge.key)
    munged --force --key-file=$home/munge.key --socket=$home/munge.socket --pid-file=$home/munged.pid \
        --seed-file=$home/munge.seed --log-file=$home/munged.log
    slurmctld -c -f $home/slurm.conf
    for node in "${nodes[@]}"; do
        slurmd -N "$node" -f $home/slurm.conf
    done
    for _ in {1..100}; do
        [ "$(sinfo --noheader --Node --states=idle --format=%N | wc -l)" = ${#nodes[@]} ] && return
        sleep 0.1
    done
    sinfo --Node --long
    fail "the nodes do not come up; see $home/*.log"
}

# Eight CPUs and 64 GB per node, more than the machine may have: agents mostly wait for their service.
configure() {
    cat <<- end
		ClusterName=lensbench
		SlurmctldHost=localhost(127.0.0.1)
		SlurmctldPort=26817
		SlurmUser=root
		AuthInfo=socket=$home/munge.socket
		StateSaveLocation=$home/state
		SlurmdSpoolDir=$home/spool-%n
		SlurmctldPidFile=$home/slurmctld.pid
		SlurmdPidFile=$home/slurmd-%n.pid
		SlurmctldLogFile=$home/slurmctld.log
		SlurmdLogFile=$home/slurmd-%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SlurmdParameters=config_overrides
		ReturnToService=2
		KillWait=5
	end
    local port=26818
    for node in "${nodes[@]}"; do
        echo "NodeName=$node NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port++)) CPUs=8 RealMemory=64000"
    done
    echo "PartitionName=all Nodes=ALL Default=YES"
}

stop() {
    [ -e $home ] || return 0
    scancel --full --user=root 2> /dev/null || true
    for file in $home/slurmctld.pid $home/slurmd-*.pid $home/munged.pid; do
        pid=$(cat "$file" 2> /dev/null) || continue
        kill "$pid" 2> /dev/null || true
        for _ in {1..100}; do
            is_alive "$pid" || break
            sleep 0.1
        done
    done
    rm -rf $home $link
    rmdir --ignore-fail-on-non-empty "$(dirname $link)"
}

# For `kill -0`, a zombie daemon still exists.
is_alive() {
    kill -0 "$1" 2> /dev/null && ! grep -qs '^State:[[:space:]]*Z' "/proc/$1/status"
}

fail() {
    echo "error: $*" >&2
    exit 1
}

case ${1-} in
    start) start ;;
    status) sinfo --Node --long && squeue ;;
    stop) stop ;;
    *) fail "usage: $0 start|status|stop" ;;
esac
