# The supervisor of one server in the tests of other projects. It reads a pipe whose other end only the process of the test holds.
# When that ends, even by SIGKILL, the supervisor stops its server and removes the folder, which the last of them completes.
#
# Arguments: the folder, the name of the server, its log, its command. Must run in the folder.
# Prints `exited <server> exit status: <number>` when the server ends.
umask 077
folder=$1 name=$2 log=$3
shift 3
exec 3<&0

until_the_test_ends() {
  while read -r _; do :; done <&3
}

# The server is ended by a sibling, which ends before its parent has forgotten its id.
"$@" </dev/null >"$log" 2>&1 3<&- &
server=$!
echo "$name $server" >>pids
{
  until_the_test_ends
  kill -TERM "$server"
  # Nothing is lost: the data is removed anyway.
  sleep 0.25 || sleep 1
  kill -KILL "$server"
} >/dev/null 2>&1 &
killer=$!
wait "$server"
status=$?
kill "$killer"
# No process reads it now.
trap '' PIPE
echo "exited $name exit status: $status" 2>/dev/null
until_the_test_ends
wait
cd /
exec rm -rf "$folder"
