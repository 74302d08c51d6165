// iron-session: a session sealed in a cookie, over web requests.
import { getIronSession, sealData, unsealData } from "iron-session";
import { program } from "../program.js";

const options = { password: "a password of at least thirty-two characters", cookieName: "session" };

export default program(async (same) => {
  const response = new Response();
  const session = await getIronSession(new Request("http://test/"), response, options);
  session.user = { id: 7 };
  await session.save();
  const cookie = response.headers.get("set-cookie").split(";")[0];
  const again = await getIronSession(new Request("http://test/", { headers: { cookie } }), new Response(), options);
  same("kept", again.user, { id: 7 });
  const forged = await getIronSession(new Request("http://test/", { headers: { cookie: cookie.slice(0, -6) + "AAAAAA" } }), new Response(), options);
  same("forged", forged.user, undefined);
  same("sealed", await unsealData(await sealData({ a: 1 }, options), options), { a: 1 });
});
