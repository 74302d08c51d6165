export default () => new Response("answered");
export const onIdle = () => { throw new Error("no idea what to do"); };
export function onTerminate() {
  console.log("the named hook ran");
}
