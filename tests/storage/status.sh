# What became of a job: sh status.sh JOB
if [ ! -f "$1/code" ]; then echo running; elif [ "$(cat "$1/code")" = 0 ]; then echo success; else echo failed; fi
