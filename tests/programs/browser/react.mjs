// The single-page app of ../react/.

import assert from "node:assert/strict";
import { counts, isStyled, look } from "./browser.mjs";

await look(async (page, url) => {
  const heading = (name) => page.getByRole("heading", { level: 1, name }).waitFor();
  const isAt = (path) => assert.equal(page.url(), url + path);

  await page.goto(url);
  await heading("Hello from the manifest");
  await isStyled(page);
  await counts(page);
  const logo = page.getByRole("img", { name: "logo" });
  assert.equal(await logo.evaluate((image) => image.decode().then(() => image.naturalWidth)), 16);

  // Another page of the app, from a chunk of its own, without a request for a page.
  await page.evaluate(() => (window.stayed = true));
  await page.getByRole("link", { name: "User 7" }).click();
  await heading("This is user 7");
  isAt("users/7");
  await page.goBack();
  await heading("Hello from the manifest");
  assert.ok(await page.evaluate(() => window.stayed), "the page was loaded again");

  // And by its address.
  await page.goto(`${url}users/42`);
  await heading("This is user 42");
  await isStyled(page);
  await page.getByRole("link", { name: "Home" }).click();
  await counts(page);
});
