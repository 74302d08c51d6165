//! File links: `GET` downloads a file from its sandbox, `PUT` uploads one. A link is valid for one file, one direction and a
//! short time, and needs no token. `Sandboxes` keeps what each link leads to and when it expires.

use hearth_core::{Body, BodyError, Headers, Method, Request, Response};
use hearth_sandbox::{Direction, ErrorCode, SandboxError, Sandboxes, WriteFile};

use hearth_static::MimeType;

use super::response;

pub(super) struct FileTransfer {
    sandboxes: Sandboxes,
}

impl FileTransfer {
    pub(super) fn new(sandboxes: Sandboxes) -> Self {
        Self { sandboxes }
    }

    pub(super) async fn answer(&self, token: &str, request: Request) -> Response {
        let done = match request.method {
            Method::Get => self.download(token).await,
            Method::Put => self.upload(token, request.body).await,
            _ => return response::method_not_allowed("GET, PUT"),
        };
        done.unwrap_or_else(|error| failed(&error))
    }

    async fn download(&self, token: &str) -> Result<Response, SandboxError> {
        let (sandbox, file) = self.sandboxes.follow(token, Direction::Download)?;
        let content = sandbox.read_file(&file.path).await?;
        let mut headers = Headers::with_capacity(5, 160);
        headers.push(b"content-type", MimeType::from_name(name(&file.path)).as_str().as_bytes());
        // A browser must never render a sandbox's file as a page of this server.
        headers.push(b"content-disposition", b"attachment");
        headers.push(b"x-content-type-options", b"nosniff");
        headers.push(b"cache-control", b"no-store");
        Ok(Response::new(200, headers, Body::from(content)))
    }

    async fn upload(&self, token: &str, body: Body) -> Result<Response, SandboxError> {
        let (sandbox, file) = self.sandboxes.follow(token, Direction::Upload)?;
        let content = match body.collect().await {
            Ok(content) => content,
            Err(BodyError::TooLarge { .. }) => {
                return Ok(response::error(
                    413,
                    "limit",
                    &format!("the file is larger than {}", hearth_sandbox::FILE_LIMIT),
                ));
            }
            Err(error) => return Ok(response::error(400, "invalid_argument", &error.to_string())),
        };
        sandbox.write_file(WriteFile { path: file.path, content, mode: None }).await?;
        Ok(response::empty(204))
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn failed(error: &SandboxError) -> Response {
    let code = error.code();
    let status = match code {
        ErrorCode::NotFound => 404,
        ErrorCode::Limit => 413,
        ErrorCode::InvalidArgument | ErrorCode::File => 400,
        ErrorCode::Denied => 403,
        ErrorCode::Timeout => 504,
        ErrorCode::AgentLost | ErrorCode::Unavailable => 503,
    };
    response::error(status, code.as_str(), &error.to_string())
}
