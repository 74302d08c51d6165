// rrule, cron-parser, ical-generator and node-cron.
import cronParser from "cron-parser";
import ical from "ical-generator";
import cron from "node-cron";
import * as rrule from "rrule";
import { program } from "../program.js";

export default program((same) => {
  const { RRule } = rrule.default ?? rrule;
  const rule = new RRule({ freq: RRule.WEEKLY, interval: 2, byweekday: [RRule.MO], dtstart: new Date(Date.UTC(2024, 0, 1, 10)), count: 3 });
  same("rrule", [rule.all().map((day) => day.toISOString().slice(0, 10)), rule.toText()], [["2024-01-01", "2024-01-15", "2024-01-29"], "every 2 weeks on Monday for 3 times"]);
  same("parsed", RRule.fromString("FREQ=DAILY;COUNT=2").options.count, 2);
  const next = cronParser.CronExpressionParser.parse("*/15 9-17 * * 1-5", { currentDate: "2024-01-05T17:50:00Z", tz: "UTC" });
  same("cron-parser", [next.next().toISOString(), next.next().toISOString()], ["2024-01-08T09:00:00.000Z", "2024-01-08T09:15:00.000Z"]);
  const calendar = ical({ name: "Mine" });
  calendar.createEvent({ id: "1", start: new Date(0), end: new Date(3_600_000), summary: "Meet; eat", stamp: new Date(0) });
  const text = calendar.toString();
  same("ical-generator", [text.includes("DTSTART:19700101T000000Z"), text.includes("SUMMARY:Meet\\; eat")], [true, true]);
  same("node-cron", [cron.validate("*/5 * * * *"), cron.validate("61 * * * *")], [true, false]);
});
