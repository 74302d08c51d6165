// class-validator and class-transformer without a compiler: decorators applied by hand.
import "reflect-metadata";
import { plainToInstance, Type, Expose, instanceToPlain } from "class-transformer";
import { IsEmail, IsInt, Length, Min, validate, ValidateNested } from "class-validator";
import { program } from "../program.js";

class Address {}
class User {}
const decorate = (type, member, ...decorators) => decorators.forEach((decorator) => decorator(type.prototype, member));
decorate(Address, "city", Length(2, 20));
decorate(User, "email", IsEmail());
decorate(User, "age", IsInt(), Min(18), Expose({ name: "years" }));
decorate(User, "address", ValidateNested(), Type(() => Address));

export default program(async (same) => {
  const user = plainToInstance(User, { email: "a@b.co", years: 20, address: { city: "Rome" } });
  same("instances", [user instanceof User, user.address instanceof Address, user.age], [true, true, 20]);
  same("valid", await validate(user), []);
  same("plain", instanceToPlain(user), { email: "a@b.co", years: 20, address: { city: "Rome" } });
  const errors = await validate(plainToInstance(User, { email: "x", years: 3.5, address: { city: "R" } }));
  same("errors", errors.map((error) => error.property), ["email", "age", "address"]);
  same("nested", errors[2].children[0].constraints, { isLength: "city must be longer than or equal to 2 characters" });
  Reflect.defineMetadata("role", "admin", User.prototype, "email");
  same("metadata", Reflect.getMetadata("role", user, "email"), "admin");
});
