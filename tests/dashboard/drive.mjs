// Drives the dashboard of a running server with a real browser: node drive.mjs URL TOKEN FOLDER
//
// URL is that of the admin listener, TOKEN the admin token; screenshots go to FOLDER. Chromium is that of the system
// (CHROMIUM names another). The server must serve an app `hello` that has answered a request, wrote a warning while it did
// (console.warn), and keeps its worker for as long as this takes (a long idleTimeout). Of what can be changed, this sets and
// deletes a secret of `hello`, makes a token for it, and destroys the one sandbox that there is, the operator's.
//
// Nothing is asserted about how long something takes: what has to be there is waited for, for a minute.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [base, token, folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node drive.mjs URL TOKEN FOLDER");
  process.exit(2);
}

const PATIENCE = 60_000;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const SECRET = "DASHBOARD_TEST";
const LABEL = "dashboard test";

/** What the browser complained about. */
const complaints = [];
/** What the server is to refuse; the browser says that as an error too. */
const refusals = [401];
let doing = "starting the browser";

async function step(what, act) {
  doing = what;
  await act();
  console.log(`ok: ${what}`);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: FLAGS,
  timeout: PATIENCE,
});
const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme: "light" });
context.setDefaultTimeout(PATIENCE);
const page = await context.newPage();
page.on("pageerror", (error) => complaints.push(error.stack));
page.on("console", (message) => {
  const wanted = refusals.some((status) => message.text().includes(`status of ${status}`));
  if (message.type() === "error" && !wanted) complaints.push(message.text());
});

const shot = (name) => page.screenshot({ path: join(folder, `${name}.png`) });
const main = page.locator("#main");
const dialog = page.getByRole("dialog");
const heading = (name) => main.getByRole("heading", { level: 1, name }).waitFor();

/** Each view with what shows that `hello` is there. */
const VIEWS = [
  [
    "overview",
    "Overview",
    () => main.getByRole("table", { name: "Apps by traffic" }).getByRole("link", { name: /^hello@/ }),
  ],
  ["apps", "Apps", () => main.getByRole("table", { name: "Apps" }).getByRole("link", { name: "hello", exact: true })],
  ["apps/hello", "hello", () => main.getByRole("table", { name: "Versions" }).getByText("served")],
  ["workers", "Workers", () => main.getByRole("table", { name: "Workers" }).getByText(/^hello@/)],
  ["sandboxes", "Sandboxes", () => main.getByRole("table", { name: "Sandboxes" }).getByText("operator")],
  ["logs", "Logs", () => main.getByRole("log").locator(".app", { hasText: /^hello(@|$)/ })],
  [
    "events",
    "Events",
    () => main.getByRole("log", { name: "Warnings and errors" }).locator(".app", { hasText: /^hello(@|$)/ }),
  ],
];

async function visit(view, title, proof) {
  await page.evaluate((hash) => (location.hash = hash), `#/${view}`);
  await heading(title);
  await proof().first().waitFor();
}

async function drive() {
  await step("the login is shown without a session", async () => {
    await page.goto(base);
    await page.getByLabel("Admin token").waitFor();
    await shot("login");
  });
  await step("a wrong token is refused, with a message", async () => {
    await page.getByLabel("Admin token").fill(`${token}-wrong`);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").filter({ hasText: "not the admin token" }).waitFor();
    assert.equal((await context.cookies()).length, 0, "a wrong token gave a cookie");
    await shot("login-wrong");
  });
  await step("the right token lets in, with a cookie that scripts cannot read", async () => {
    await page.getByLabel("Admin token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await heading("Overview");
    const [cookie] = await context.cookies();
    assert.ok(cookie.httpOnly, "the cookie is not HttpOnly");
    assert.equal(cookie.sameSite, "Strict", "the cookie is not SameSite=Strict");
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    assert.ok(!kept.includes(token), "the token is kept where scripts can read it");
  });
  await step("numbers come", async () => {
    for (const label of ["Requests per second", "Hit rate", "Warm workers", "Memory", "Uptime"]) {
      const tile = main.locator(".tile").filter({ hasText: label });
      await tile.locator(".value", { hasNotText: "–" }).waitFor();
    }
  });
  for (const [mode, colorScheme, width, height] of [
    ["light", "light", 1280, 860],
    ["dark", "dark", 1280, 860],
    ["phone", "light", 390, 844],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    for (const [view, title, proof] of VIEWS) {
      await step(`#/${view} shows hello (${mode})`, async () => {
        await visit(view, title, proof);
        await shot(`${mode}-${view.replace("/", "-")}`);
        const beyond = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(beyond <= 0, `the page is ${beyond} pixels wider than the window`);
      });
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 });
  await step("keys change the view and show the help", async () => {
    await page.keyboard.press("2");
    await heading("Apps");
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await heading("Workers");
    await page.keyboard.press("?");
    await dialog.getByRole("heading", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });
  await step("workers are sorted by a click", async () => {
    await main.getByRole("button", { name: "Memory" }).click();
    await main.locator('th[aria-sort="descending"]', { hasText: "Memory" }).waitFor();
  });
  await step("a sandbox is destroyed, after a question", async () => {
    await visit(...VIEWS.find(([view]) => view === "sandboxes"));
    const held = main.locator(".tile").filter({ hasText: "In use" }).locator(".value");
    assert.equal(await held.textContent(), "1");
    const destroy = main.getByRole("button", { name: /^Destroy / });
    await destroy.click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await destroy.click();
    await dialog.getByRole("button", { name: "Destroy" }).click();
    await dialog.waitFor({ state: "detached" });
    await main.getByText("No sandbox is in use.").waitFor();
    await held.filter({ hasText: /^0$/ }).waitFor();
    await shot("sandbox-destroyed");
  });
  const secrets = main.getByRole("region", { name: "Secrets" });
  await step("a secret is set", async () => {
    await visit(...VIEWS[2]);
    await secrets.getByRole("button", { name: "Set a secret…" }).click();
    await dialog.getByLabel("Name").fill(SECRET);
    await dialog.getByLabel("Value").fill("a value that is not shown again");
    await dialog.getByRole("button", { name: "Set" }).click();
    await dialog.waitFor({ state: "detached" });
    await secrets.getByText(SECRET, { exact: true }).waitFor();
    await shot("secret");
  });
  await step("and deleted, after a question", async () => {
    await secrets.getByRole("button", { name: `Delete ${SECRET}` }).click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await secrets.getByRole("button", { name: `Delete ${SECRET}` }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.waitFor({ state: "detached" });
    await secrets.getByText(SECRET, { exact: true }).waitFor({ state: "detached" });
  });
  const tokens = main.getByRole("region", { name: "Tokens" });
  await step("a token is made, and shown once", async () => {
    await tokens.getByRole("button", { name: "Make a token…" }).click();
    await dialog.getByLabel("Label").fill(LABEL);
    await dialog.getByRole("button", { name: "Make" }).click();
    const made = await dialog.getByLabel("Token").inputValue();
    assert.ok(made.length >= 16, `${JSON.stringify(made)} is no token`);
    await shot("token");
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    await tokens.getByText(LABEL, { exact: true }).first().waitFor();
    assert.ok(!(await page.content()).includes(made), "the token is still on the page");
  });
  await step("an app that is not there is said not to be", async () => {
    refusals.push(404);
    await page.evaluate(() => (location.hash = "#/apps/no-such-app"));
    await main.getByRole("alert").filter({ hasText: "there is no app no-such-app" }).waitFor();
  });
  await step("logging out ends the session", async () => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Admin token").waitFor();
    const answer = await context.request.get(new URL("/admin/metrics", base).href);
    assert.equal(answer.status(), 401, "the session goes on");
  });
  assert.deepEqual(complaints, [], "the browser complained");
}

mkdirSync(folder, { recursive: true });
try {
  await drive();
  console.log("the dashboard works");
} catch (error) {
  console.error(`failed: ${doing}\n${error.stack}`);
  for (const complaint of complaints) console.error(`browser: ${complaint}`);
  await shot("failed").catch(() => {});
  process.exitCode = 1;
} finally {
  await browser.close();
}
