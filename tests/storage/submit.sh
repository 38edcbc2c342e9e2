# An executor of jobs in folders of their own: sh submit.sh FOLDER JOBSCRIPT prints the job's name, its folder in
# FOLDER.
# A job gets the variables that a container would have, and begins in an empty folder.
job=$(mktemp -d "$1/job.XXXXXX")
cp "$2" "$job/script"
mkdir "$job/work"
cd "$job/work"
setsid sh -c '
  echo $$ > "$1/group"
  env -i HOME="$1" PATH="$PATH" PYTHONPATH="$STORAGE_PACKAGES" OMP_NUM_THREADS=1 sh "$1/script" > "$1/output" 2>&1
  echo $? > "$1/code.new"; mv "$1/code.new" "$1/code"' job "$job" > /dev/null 2>&1 < /dev/null &
echo "$job"
