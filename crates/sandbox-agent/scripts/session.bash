# A shell that keeps its variables between runs. Requests come over descriptor 3, each text ended by a zero byte: path,
# folder, number of variables, variables. Each is answered by its status and a newline.
# SIGINT ends what is sourced, and not the shell: its trap returns from the sourced file (or from the function that runs,
# after which the file goes on). A trap that runs a command is not inherited; between runs the signal is ignored.
trap '' INT
while IFS= read -r -d '' -u 3 __path && IFS= read -r -d '' -u 3 __cwd && IFS= read -r -d '' -u 3 __count; do
  while [ "$__count" -gt 0 ]; do
    IFS= read -r -d '' -u 3 __pair
    export "$__pair"
    __count=$((__count - 1))
  done
  if [ -n "$__cwd" ]; then cd -- "$__cwd"; fi
  trap 'return 130' INT
  source "$__path" 3>&-
  __status=$?
  trap '' INT
  printf '%d\n' "$__status" >&3
done
