// aws4fetch: requests signed as S3 wants them, checked by what it received.
import { AwsClient, AwsV4Signer } from "aws4fetch";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const aws = new AwsClient({ accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", service: "s3", region: "us-east-1" });
    const reply = await aws.fetch(`${origin}/bucket/a%20b`, { method: "PUT", body: "data" });
    same("signed", (await reply.json()).authorization.startsWith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), true);
    const signer = new AwsV4Signer({ url: "https://example.amazonaws.com/?Param2=value2&Param1=value1", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", service: "service", region: "us-east-1", datetime: "20150830T123600Z" });
    same("vector", (await signer.sign()).headers.get("authorization").split("Signature=")[1], "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  },
  (request) => Response.json({ authorization: request.headers.get("authorization") }),
);
