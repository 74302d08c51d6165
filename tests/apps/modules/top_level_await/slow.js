export const slow = await new Promise((resolve) => setTimeout(resolve, 10, "slow"));
