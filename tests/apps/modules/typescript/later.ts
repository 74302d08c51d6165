export const later = async (): Promise<string> => "later";
