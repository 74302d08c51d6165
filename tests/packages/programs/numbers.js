// bignumber.js, decimal.js and mathjs.
import BigNumber from "bignumber.js";
import Decimal from "decimal.js";
import { create, all } from "mathjs";
import { program } from "../program.js";

export default program((same) => {
  same("bignumber", [new BigNumber("0.1").plus("0.2").toString(), new BigNumber(2).pow(100).toFormat(), new BigNumber("ff", 16).toString(2)], ["0.3", "1,267,650,600,228,229,401,496,703,205,376", "11111111"]);
  same("decimal", [new Decimal(2).sqrt().toString(), Decimal.set({ precision: 30 }) && new Decimal(1).div(3).toString(), new Decimal("1e-400").isZero()], ["1.4142135623730950488", "0.333333333333333333333333333333", false]);
  const math = create(all);
  same("mathjs", [math.evaluate("12.7 cm to inch").toString(), math.evaluate("det([-1, 2; 3, 1])"), math.derivative("x^2 + x", "x").toString(), math.format(math.evaluate("sqrt(-4)"))], ["5 inch", -7, "2 * x + 1", "2i"]);
});
