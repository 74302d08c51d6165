import { Suspense } from "react";
import { Link, Outlet } from "react-router";

import logo from "./logo.svg";

export function Layout() {
  return (
    <>
      <nav>
        <img src={logo} alt="logo" /> <Link to="/">Home</Link> <Link to="/users/7">User 7</Link>
      </nav>
      <Suspense fallback={<p>Loading</p>}>
        <Outlet />
      </Suspense>
    </>
  );
}
