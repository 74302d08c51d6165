// Work at certain times: `crons` in manifest.yaml says when. `hearth task NAME '"now"'` does it at once.
const runs: string[] = [];

function work(why: string): string {
  const run = `${new Date().toISOString()} ${why}`;
  runs.push(run);
  runs.splice(0, runs.length - 10);
  console.log(`worked: ${run}`);
  return run;
}

export default {
  scheduled(event: { cron: string; scheduledTime: number }) {
    work(event.cron);
  },
  task(event: { payload: unknown }) {
    return work(`task ${JSON.stringify(event.payload)}`);
  },
  fetch() {
    return Response.json({ runs });
  },
};
