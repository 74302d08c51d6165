export const value = await new Promise((resolve) => setTimeout(resolve, 5, "waited"));
