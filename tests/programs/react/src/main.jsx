import { StrictMode, lazy } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, Route, Routes } from "react-router";

import { Home } from "./Home.jsx";
import { Layout } from "./Layout.jsx";
import "./style.css";

// A chunk of its own, loaded when it is needed.
const User = lazy(() => import("./User.jsx"));

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <BrowserRouter basename={new URL(document.baseURI).pathname}>
      <Routes>
        <Route element={<Layout />}>
          <Route index element={<Home />} />
          <Route path="users/:id" element={<User />} />
          <Route path="*" element={<h1>Nothing here</h1>} />
        </Route>
      </Routes>
    </BrowserRouter>
  </StrictMode>,
);
