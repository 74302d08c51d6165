// inversify and tsyringe: containers with decorators applied by hand.
import "reflect-metadata";
import { Container, decorate, inject, injectable } from "inversify";
import { container, Lifecycle } from "tsyringe";
import { program } from "../program.js";

class Engine {
  start() {
    return "started";
  }
}
class Car {
  constructor(engine) {
    this.engine = engine;
  }
}
decorate(injectable(), Engine);
decorate(injectable(), Car);
decorate(inject(Engine), Car, 0);

export default program((same) => {
  const kernel = new Container();
  kernel.bind(Engine).toSelf().inSingletonScope();
  kernel.bind(Car).toSelf();
  same("inversify", [kernel.get(Car).engine.start(), kernel.get(Car).engine === kernel.get(Car).engine, kernel.get(Car) === kernel.get(Car)], ["started", true, false]);
  container.register("engine", { useClass: Engine }, { lifecycle: Lifecycle.Singleton });
  container.register("car", { useFactory: (it) => new Car(it.resolve("engine")) });
  same("tsyringe", [container.resolve("car").engine.start(), container.resolve("engine") === container.resolve("engine")], ["started", true]);
});
