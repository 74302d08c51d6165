import { useState } from "react";

export function Home() {
  const [count, setCount] = useState(0);
  return (
    <main>
      <h1>{window.__env__.VITE_GREETING}</h1>
      <button onClick={() => setCount(count + 1)}>Clicked {count} times</button>
    </main>
  );
}
